// Package store keeps the documents of the mock cluster: collections of BSON
// documents with B-tree indexes, and plans that read them. The query language
// is implemented in subpackages, each importing only those before it:
// value and document, servererr (errors), quota (steps and memory), paths, regex,
// order, expr, filter, projection, pipeline and update. The meaning of a request and
// the error it fails with follow the server (MongoDB 8.0); testdata holds the replies of a
// server to some 330 requests, which the tests compare with ours.
//
// Documents are stored and passed as bson.Raw, never copied without need: a document
// that was passed in must not be changed afterwards. Compiled objects are
// immutable and may be used by several goroutines; a Collection may not.
//
// A Query is planned: Plan says which index is read and within which bounds,
// Run reads and counts, and Stages describes plan and counts as explain does.
//
// What is not implemented fails with the server's error for something unknown
// or unavailable and never answers otherwise: JavaScript ($where, $function,
// $accumulator), text and geo queries, collations, and $meta. Trigonometry and
// logarithms of decimals have a double's precision; dates in text are read in
// ISO 8601 and a few other plain forms only.
package store
