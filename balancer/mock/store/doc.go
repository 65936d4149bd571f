// Package store is the document engine of the mock cluster: collections of
// BSON documents with B-tree indexes, and the compiled forms of the query
// language over them: filters, updates, projections, sorts, expressions and
// pipelines. What a request means and which error it earns follow the server
// (MongoDB 8.0); what is not implemented fails with the server's error for
// something unknown and never answers wrongly.
//
// Documents are kept and passed as bson.Raw. Everything compiled is immutable
// and may be used by several goroutines; a Collection may not.
package store
