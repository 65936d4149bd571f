// Package bench measures how quick the program is, in one table:
//
//	go test -run '^$' -bench . ./test/bench
//
// Each work is done several times, and between any two of them a packed pass: a fixed
// amount of plain work. What a work takes is given in CPU time of passes, so that
// machines that are slower or loaded compare. Where mongosh is installed (.ci/install),
// it does the same works on the same mock in turns with shardsh. A work that takes more
// than 1.3 times what baseline.json says fails; -bench.update rewrites it.
//
// Nothing of it is part of the program.
package bench
