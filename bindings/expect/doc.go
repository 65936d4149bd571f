// Package expect is the function expect of tests: what a value is held to, in the
// words that people know from Jest, and what to say of one that differs.
//
// One file has a family of matchers, each an entry in a table. Matchers about
// other things than values, such as clusters, come from outside ([Options]).
package expect
