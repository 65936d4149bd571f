// Package rawdoc reads fields of BSON documents as scripts do: missing fields read as zero.
package rawdoc
