# SPDX-License-Identifier: Apache-2.0
# A web cache: nginx keeps the answers of another server in files, three levels deep, while three clients ask for 200 pages.
needs="nginx curl"
prepare() {
  mkdir cache temp "$scratch/www"; chmod 755 .. "$scratch"; chmod 777 cache temp
  for i in $(seq 1 200); do head -c $((i * i * 3 + 100)) /dev/zero > "$scratch/www/p$i"; done
  cat > "$scratch/nginx.conf" <<END
user root; pid $scratch/pid; error_log $scratch/error.log; worker_processes 2; daemon on;
events {}
http {
  access_log off;
  client_body_temp_path $scratch/body; fastcgi_temp_path $scratch/fastcgi; uwsgi_temp_path $scratch/uwsgi; scgi_temp_path $scratch/scgi;
  proxy_cache_path $PWD/cache levels=1:2 keys_zone=k:1m max_size=3m manager_sleep=200ms inactive=10m use_temp_path=on;
  proxy_temp_path $PWD/temp;
  server { listen unix:$scratch/origin; root $scratch/www; }
  server { listen unix:$scratch/front; location / { proxy_pass http://unix:$scratch/origin:; proxy_cache k; proxy_cache_valid any 10m; } }
}
END
}
load() {
  nginx -c "$scratch/nginx.conf" -e "$scratch/error.log"
  for client in 1 2 3; do
    (for i in $(seq 1 150); do echo "url = http://localhost/p$(((i * i * client + client * 31) % 200 + 1))"; echo "output = /dev/null"; done |
       curl -s --unix-socket "$scratch/front" --rate 60/s -K - ) &
  done
  wait $(jobs -p)
  kill -QUIT "$(cat "$scratch/pid")"; while [ -e "$scratch/pid" ]; do sleep 0.1; done
}
