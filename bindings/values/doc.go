// Package values is one JavaScript runtime's view of BSON: the constructors a
// script calls (ObjectId, NumberLong, ISODate, …), conversion between BSON and
// JavaScript values in both directions, extended JSON, and the text in which a
// value is shown (rules/04-values-and-language §3.2–3.4, §3.6, §4.7–4.10).
//
// BSON types that JavaScript lacks are small host objects: a shared prototype
// per type carries the methods, the payload is a Go value, and what other
// shells keep as own fields (Long's low and high, Binary's sub_type) is
// computed when it is read. Documents are ordinary JavaScript objects.
//
// Like the runtime it belongs to, a Realm is for one goroutine.
package values
