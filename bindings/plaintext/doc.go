// Package plaintext has what shells do with text: widths and line breaks, the order
// and likeness of words, numbers and sizes written as mongosh writes them.
package plaintext
