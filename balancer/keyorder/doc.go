// Package keyorder orders BSON values as the server does (rules/03-catalog-and-keys §4.4), and hashes
// them as hashed shard keys and hashed indexes do (rules/03-catalog-and-keys §4.6).
//
// There are two independent implementations of the order. Compare compares two values directly. Append
// encodes one value into bytes whose lexicographic order is the same order. Routing tables and indexes
// keep the encodings. Compare is for single comparisons, and for tests of the encodings.
//
// No function here fails: a damaged value is read as far as possible, an unknown type counts as
// Undefined, and nesting deeper than the server allows reads as empty. Callers that must reject such
// values validate them before.
package keyorder
