// Package acceptance proves a new network: link by link, then GPUDirect RDMA,
// then collectives over growing node counts. It schedules tests so that none
// disturbs another, runs them through a remote.Runner or reads results that
// exist, judges them against what the cluster should give, and finds the part
// that explains slow pairs.
//
// Results are kept as files in a directory, one for each test with what the
// tool printed, and a line for each in tests.jsonl. A run that was interrupted
// goes on with what is missing there.
package acceptance
