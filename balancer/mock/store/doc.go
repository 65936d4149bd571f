// Package store keeps the documents of the mock cluster: collections of BSON
// documents with B-tree indexes, and plans that read them. The query language
// over documents lives in rooms of its own, each importing only those before it:
// value and document, refusal (errors), work (steps and memory), paths, regex,
// order, expr, filter, projection, pipeline and update. What a request means and
// which error it earns follow the server (MongoDB 8.0); testdata holds what one
// replied to some 330 requests, and the tests compare.
//
// Documents are kept and passed as bson.Raw, never copied without need: what
// was handed in must not be changed afterwards. Everything compiled is
// immutable and may be used by several goroutines; a Collection may not.
//
// A Query is planned: Plan says which index is read and within which bounds,
// Run reads and counts, and Stages tells both as explain does.
//
// What is not implemented fails with the server's error for something unknown
// or unavailable and never answers otherwise: JavaScript ($where, $function,
// $accumulator), text and geo queries, collations, and $meta. Trigonometry and
// logarithms of decimals have a double's precision; dates in text are read in
// ISO 8601 and a few other plain forms only.
package store
