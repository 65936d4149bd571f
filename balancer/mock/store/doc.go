// Package store stores the documents of the mock cluster: collections of BSON documents with B-tree
// indexes, and plans that read them. Subpackages implement the query language. Each imports only those
// before it: value and document, servererr (errors), quota (steps and memory), paths, regex, order,
// expr, filter, projection, pipeline and update. Results and errors follow the server (MongoDB 8.0).
// testdata holds a server's replies to some 330 requests, which the tests compare with the replies of
// this package.
//
// Documents are stored and passed as bson.Raw and copied only if necessary: callers must not change a
// document after they have passed it in. Compiled objects are immutable and safe for concurrent use; a
// Collection is not.
//
// A Query is planned: Plan says which index is read within which bounds, Run reads and counts, and
// Stages describes plan and counts in the format of explain.
//
// Features that are not implemented fail with the server's error for an unknown or unavailable feature:
// JavaScript ($where, $function, $accumulator), text and geo queries, collations, and $meta.
// Trigonometric functions and logarithms of decimals have the precision of a double. Dates in strings
// are parsed only in ISO 8601 and a few other simple formats.
package store
