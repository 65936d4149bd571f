// Package expect implements the function expect of tests, with the matchers of Jest and the messages of
// failed matchers.
//
// Each file has a family of matchers in a table. Matchers for clusters and other objects come from
// outside ([Options]).
package expect
