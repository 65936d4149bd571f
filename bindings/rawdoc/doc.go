// Package rawdoc reads fields of documents as the server sent them, with the
// leniency of scripts: what is missing is zero.
package rawdoc
