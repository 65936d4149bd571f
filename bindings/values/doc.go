// Package values implements BSON in a JavaScript runtime: the constructors for scripts (ObjectId,
// NumberLong, ISODate, …), the conversion between BSON and JavaScript values, extended JSON, and the
// text form of values (rules/04-values-and-language §3.2–3.4, §3.6, §4.7–4.10).
//
// BSON types without a JavaScript equivalent are small host objects. Each type has a shared prototype
// with the methods, and the payload is a Go value. The fields that these objects have in other shells
// (Long's low and high, Binary's sub_type) are computed when they are read. Documents are ordinary
// JavaScript objects.
//
// A Realm belongs to one goroutine, like its runtime.
package values
