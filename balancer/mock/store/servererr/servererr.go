// Package servererr makes the errors that the server replies with: by a code with
// a name, or by the unnamed number of a single message in its source.
package servererr

import (
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mongoerr"
)

// New makes an error of a code that has a name. Values and documents among the
// arguments are shown as the server shows them.
func New(code mongoerr.Code, format string, args ...any) error {
	return mongoerr.New(code, format, document.FormatArgs(args)...)
}

// NewCode makes an error of a code that has no name.
func NewCode(code int32, format string, args ...any) error {
	return New(mongoerr.Code(code), format, args...)
}

// BadValue makes an error of code 2.
func BadValue(format string, args ...any) error {
	return New(mongoerr.BadValue, format, args...)
}

// FailedToParse makes an error of code 9.
func FailedToParse(format string, args ...any) error {
	return New(mongoerr.FailedToParse, format, args...)
}

// TypeMismatch makes an error of code 14.
func TypeMismatch(format string, args ...any) error {
	return New(mongoerr.TypeMismatch, format, args...)
}
