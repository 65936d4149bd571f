// Package bench measures the speed of the program, in one table:
//
//	go test -run '^$' -bench . ./test/bench
//
// Each workload runs several times, alternating with a calibration pass: a fixed amount of simple work.
// Results are CPU times in units of passes, so that slower or loaded machines are comparable. If mongosh
// is installed (.ci/install), it runs the same workloads on the same mock in turns with shardsh. A
// workload that takes more than 1.3 times its time in baseline.json fails; -bench.update rewrites the
// file.
//
// The program does not use this package.
package bench
