// Package plaintext provides text functions for shells: widths and line breaks, the order and
// similarity of words, and numbers and sizes in the format of mongosh.
package plaintext
