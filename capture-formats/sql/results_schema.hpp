// SPDX-License-Identifier: Apache-2.0
// The tables of a results database; docs/results.md explains each column.
#pragma once

namespace fsr {

constexpr int kResultsApplication = 0x66737265;  // "fsre", in the SQLite header: marks results databases
constexpr int kResultsVersion = 16;              // user_version; another one has other tables

constexpr const char* kResultsSchema = R"(
create table run(
  id integer primary key, series int, run_group int, round int, label text, started text, started_ns int,
  program text, command text, host text, kernel text, cpu text, cpus int, memory_bytes int, directory text, directory_mount text,
  target_mount text,
  input text, trace_id text, seed int, target text, timing text, ordering text, scale real, clones int, uid text, workers int,
  asked_per_s real, mix_dialect text, mix_deviation_percent real,
  elapsed_ns int, planned_ns int, recorded_ns int, offered_per_s real, achieved_per_s real, failed_per_s real, recorded_per_s real,
  operations int, issued int, matched int, differed int, followed int, followed_from text, failed int, unanswered int, cancelled int,
  unfinished int, overdue int, unrecorded int,
  violations int, edges int, free_pairs int, window_full int, auxiliary int, blocks_compared int, bytes_compared int, blocks_unknown int,
  changed_listings int, streams int, objects int, bytes_read int, bytes_written int,
  limited_by text, behind int, behind_ns int, waited int, waited_own_thread int, silent_ns int, longest_silence_ns int,
  stood_still_ns int, longest_stand_ns int, stolen_ns int,
  not_clean text, requirements_missed text, exit_status int);
create table kinds(run int, kind text, issued int, ok int, matched int, differed int, followed int, permission int, uncompared int,
  failed int, awaited int, approximate int, impossible int, refused int, bytes int);
create table distributions(run int, kind text, what text, count int, min_ns int, mean_ns real, p50_ns int, p90_ns int, p99_ns int,
  p999_ns int, p9999_ns int, max_ns int);
create table histograms(run int, kind text, what text, low_ns int, high_ns int, count int);
create table intervals(run int, from_ns int, to_ns int, kind text, operations int, failed int, bytes_read int, bytes_written int,
  service_mean_ns real, service_p50_ns int, service_p90_ns int, service_p99_ns int, service_p999_ns int, service_p9999_ns int,
  service_max_ns int,
  response_mean_ns real, response_p50_ns int, response_p90_ns int, response_p99_ns int, response_p999_ns int, response_p9999_ns int,
  response_max_ns int,
  in_flight int, differed int, lateness_ns int,
  recorded_mean_ns real, recorded_p50_ns int, recorded_p90_ns int, recorded_p99_ns int, recorded_p999_ns int, recorded_p9999_ns int,
  recorded_max_ns int,
  due int, issued int, waiting_mean_ns real, lateness_mean_ns real, ranks int);
create table heat(run int, from_ns int, to_ns int, what text, bucket int, count int);
create table made_of(run int, low_ns int, high_ns int, operations int, service_ns int, waiting_ns int, lateness_ns int);
create table offered(run int, from_ns int, to_ns int, operations int);
create table slowest(run int, seq int, kind text, name text, object int, issued_ns int, service_ns int, recorded_ns int);
create table mismatches(run int, seq int, kind text, name text, object int, thread int, expected text, got text,
  issued_ns int);
create table differences(run int, kind text, expected text, got text, count int, first_ns int, last_ns int, first_seq int, example text);
create table counters(run int, name text, value int);
create table compared_rates(run int, name text, unit text, target text, round int, place int, rate real);
create table compared(run int, name text, unit text, first text, second text, rounds int, asked int, ratio real, low real, high real, sign_p real,
  verdict text, less_is_better int);
create table measured(run int, name text, unit text, value real, less_is_better int, lower_bound int, offered_per_s real);
create table tests(run int, test int, name text, iteration int, session int, elapsed_ns int, client_cpu_ns int, server_cpu_ns int,
  afpd_reads int, afpd_writes int, cnid_dbd_reads int, cnid_dbd_writes int);
create table parts(run int, part text, name text, average int, from_ns int, to_ns int, asked_percent real, operations int, failed int,
  bytes_read int, bytes_written int,
  service_mean_ns real, service_p50_ns int, service_p90_ns int, service_p99_ns int, service_p999_ns int, service_p9999_ns int,
  service_max_ns int,
  response_mean_ns real, response_p50_ns int, response_p90_ns int, response_p99_ns int, response_p999_ns int, response_p9999_ns int,
  response_max_ns int);
create table mix(run int, procedure text, asked real, issued int, failed int, issued_share real, wire int, wire_share real);
create table gaps(run int, rank int, host text, intervals int, from_ns int, to_ns int);
create table ranks(run int, rank int, host text, streams int, issued int, failed int, differed int, bytes_read int, bytes_written int,
  elapsed_ns int, achieved_per_s real, response_p50_ns int, response_p99_ns int, lateness_max_ns int,
  start_ns int, clock_offset_ns int, clock_error_ns int, clock_drift_ns int);
create table clients(run int, client int, set_up_ns int, operations int, per_s real, p50_ns int, p99_ns int, unanswered int,
  reconnects int, leases_lost int, down int);
create view curve as
  select run.series, run.id as run, run.run_group, run.round, label, target, asked_per_s, achieved_per_s, issued as calls,
         response.mean_ns, response.p50_ns, response.p90_ns, response.p99_ns, service.p99_ns as service_p99_ns, mix_deviation_percent
  from run join distributions response on response.run = run.id and response.kind = '' and response.what = 'response'
           left join distributions service on service.run = run.id and service.kind = '' and service.what = 'service'
  order by run.series, run.id;
)";

}  // namespace fsr
