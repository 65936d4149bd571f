// Package keyorder puts BSON values in the server's order (rules/03-catalog-and-keys §4.4) and
// hashes them as hashed shard keys and hashed indexes do (rules/03-catalog-and-keys §4.6).
//
// There are two independent implementations of the order: Compare walks two
// values side by side, and Append turns one value into bytes whose plain
// lexicographic order is the same order. Routing tables and indexes keep the
// bytes; Compare is for the occasional pair, and it checks the bytes in tests.
//
// Nothing here fails: a damaged value is read as far as it goes, an unknown
// type counts as Undefined, and nesting deeper than the server allows reads as
// empty. Whoever must refuse such values validates them before.
package keyorder
