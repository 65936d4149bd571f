// Package servererr creates the errors that the server replies with: with the code of a named error, or
// with the number of a single message in its source.
package servererr

import (
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mongoerr"
)

// New returns an error with a named code. It formats values and documents among the arguments as the
// server does.
func New(code mongoerr.Code, format string, args ...any) error {
	return mongoerr.New(code, format, document.FormatArgs(args)...)
}

// NewCode returns an error with a code that has no name.
func NewCode(code int32, format string, args ...any) error {
	return New(mongoerr.Code(code), format, args...)
}

// BadValue returns an error with code 2.
func BadValue(format string, args ...any) error {
	return New(mongoerr.BadValue, format, args...)
}

// FailedToParse returns an error with code 9.
func FailedToParse(format string, args ...any) error {
	return New(mongoerr.FailedToParse, format, args...)
}

// TypeMismatch returns an error with code 14.
func TypeMismatch(format string, args ...any) error {
	return New(mongoerr.TypeMismatch, format, args...)
}
