// Package gojamem is the one room that reads the private memory of goja, the JavaScript
// engine. Nothing else in the program imports unsafe to look into goja.
//
// What it reads, and why. Each figure is the CPU time of the work without this package,
// divided by that with it, in runs that alternate on one machine:
//
//   - The fields of plain objects, the items of arrays and the time of dates, when a
//     script's values become BSON or text. Asked by its API, goja makes an iterator and a
//     copy of each name and looks every name up again. insertMany of 100,000 documents:
//     1.4; EJSON.stringify of a script's own objects: 2.0.
//   - The object behind a goja.Object, to replace it. A document from a server stays bytes
//     until a script looks at a field (values/lazydoc.go); when a script changes it, it has
//     to become an ordinary object while the script holds it. toArray of 100,000: 6.7;
//     forEach: 3.8; hasNext and next: 3.5; EJSON.stringify of what was read: 2.4.
//   - The bytes of ASCII texts, so that a text that a script appends to grows in place.
//     goja copies the whole text for each piece. 30,000 appends: 60.
//
// What is less than 1.3 times quicker does not belong here.
//
// What it relies on. Of goja: that goja.Object has a field "self", an interface; that plain
// objects, arrays and dates are pointers to structs with fields of certain names and types
// ("values", "propNames", "msec", "val"); that a field which is more than a value is a
// struct with "enumerable"; that a substring of an ASCII text shares its bytes. Of Go: that
// an interface is a pair of pointers, of which the first says what the second points to.
//
// How it is kept safe. [New] finds each field by its name and type, by reflection, and
// notes where it is; no offset is written down. Then it reads objects that it has made
// itself and compares what it finds with what goja says. If a field is missing, has another
// type or another value, the Memory is empty: it answers no question, and callers ask goja,
// which is slower and shows a script the same. Objects of any other kind (proxies, classes
// with accessors, names that are numbers) are left to goja at all times. The package reads
// only on the goroutine that the runtime belongs to. It writes in two places: Replace, and
// behind the end of texts that nobody else can see.
//
// How to turn it off. Set the environment variable SHARDSH_SAFE_MEMORY to 1, or
// script.Options.SafeMemory in Go. The gate runs the tests of bindings both ways. Turn it
// off first when a value looks wrong or the process ends with a fault in goja.
//
// When goja is updated: run the tests of this package. TestLayoutIsKnown fails if the new
// release is not known; the program works all the same.
package gojamem
