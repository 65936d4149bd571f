// Package gojamem is the only package that reads the private memory of goja, the JavaScript engine. No
// other package imports unsafe to access goja.
//
// What it reads, and why. Each figure is the CPU time of the work without this package, divided by the
// CPU time with it, in alternating runs on one machine:
//
//   - The fields of plain objects, the items of arrays and the time of dates, when a
//     script's values are converted to BSON or text. In its API, goja creates an iterator
//     and a copy of each name, and looks up every name again. insertMany of 100,000
//     documents: 1.4; EJSON.stringify of a script's own objects: 2.0.
//   - The object behind a goja.Object, to replace it. A document from a server stays
//     encoded until a script reads a field (values/lazydoc.go). When a script changes the
//     document, it has to become an ordinary object while the script holds it. toArray of
//     100,000 documents: 6.7; forEach: 3.8; hasNext and next: 3.5; EJSON.stringify of
//     documents from a server: 2.4.
//   - The bytes of ASCII strings, so that a string to which a script appends grows in
//     place. goja copies the whole string for each append. 30,000 appends: 60.
//
// Optimizations by a factor below 1.3 do not belong here.
//
// What it relies on. In goja: goja.Object has a field "self", an interface. Plain objects, arrays and
// dates are pointers to structs with fields of certain names and types ("values", "propNames", "msec",
// "val"). A field with attributes or accessors is a struct with "enumerable". A substring of an ASCII
// string shares its bytes. In Go: an interface is a pair of pointers, and the first pointer identifies
// the type of the data behind the second.
//
// How it is kept safe. [New] finds each field by its name and type, by reflection, and records its
// offset; no offset is hard-coded. Then it reads objects that it has created itself and compares the
// values with those of goja's API. If a field is missing, has another type or another value, the Memory
// is empty: its methods return no data, and callers use goja's API, which is slower and gives the same
// results. Objects of other kinds (proxies, classes with accessors, numeric names) are always left to
// goja. The package reads only on the goroutine of the runtime. It writes in two places: in Replace,
// and after the end of strings, in memory that no other code can see.
//
// How to disable it. Set the environment variable SHARDSH_SAFE_MEMORY to 1, or
// script.Options.SafeMemory in Go. The gate runs the tests of bindings both ways. Disable the package
// first when a value is wrong or the process crashes in goja.
//
// When goja is updated, run the tests of this package. TestLayoutIsKnown fails if the new release is
// unknown; the program still works.
package gojamem
