// Package querystats keeps statistics of queries by their shape, as $queryStats shows them: a
// shape is a find, distinct or aggregate with the types of its values in place of them. Shapes and
// fields are those that were recorded of an 8.0.10 and, for 9.0, those of the server's code.
package querystats
