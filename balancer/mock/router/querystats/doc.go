// Package querystats collects the statistics of queries by shape for $queryStats. A shape is a find,
// distinct or aggregate command whose values are replaced by their types. Shapes and fields are those
// recorded on 8.0.10 and, for 9.0, those in the server's source code.
package querystats
