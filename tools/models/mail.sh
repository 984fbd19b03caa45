# SPDX-License-Identifier: Apache-2.0
# A mail server with Maildir folders: four users' processes deliver, list, read, flag and remove mails.
needs="python3"
prepare() { :; }
load() {
  python3 - <<'END'
import mailbox, os, random, time
children = []
for user in range(4):
    children.append(os.fork())
    if children[-1]: continue
    box = mailbox.Maildir(f"user{user}")
    for i in range(25):
        key = box.add("Subject: x\n\n" + "y" * random.choice([500, 2000, 9000, 40000]))
        if i % 3 == 0:
            for k in list(box.keys())[:10]: box.get_bytes(k)
        if i % 4 == 2:
            seen = box.get_message(key); seen.add_flag("S"); seen.set_subdir("cur"); box[key] = seen
        if i % 5 == 4: box.discard(random.choice(list(box.keys())))
        time.sleep(random.random() / 50)
    os._exit(0)
for child in children: os.waitpid(child, 0)
END
}
