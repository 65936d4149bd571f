// Package mongoerr holds errors with MongoDB's codes and code names, so that every package can reply to
// a client as the server would (rules/03-commands §0.2 and rules/03-catalog-and-keys §5).
package mongoerr

import (
	"errors"
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Code is a server error code.
type Code int32

// ServerError is a failure as the server reports it.
type ServerError struct {
	Code    Code
	Message string
	// NoCode marks the old-style failures of split and mergeChunks, whose replies have no code and
	// codeName (rules/03-commands §0.2).
	NoCode bool
	// Extra holds further fields of the reply, after codeName.
	Extra bson.D
	// Cause is the driver's error for the reply, for callers that check its type. Failures that were
	// made here have no Cause.
	Cause error
}

// Error returns only the message, as a client prints it.
func (e *ServerError) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *ServerError) Unwrap() error { return e.Cause }

// CodeName returns the name of the code, empty for a failure without one.
func (e *ServerError) CodeName() string {
	if e.NoCode {
		return ""
	}
	return e.Code.Name()
}

// New returns an error with a code. BSON arguments are formatted as in the server's messages.
func New(code Code, format string, args ...any) *ServerError {
	return &ServerError{Code: code, Message: fmt.Sprintf(format, bsonToText(args)...)}
}

// NewNoCode returns an old-style failure: a reply without code and codeName.
func NewNoCode(format string, args ...any) *ServerError {
	return &ServerError{NoCode: true, Message: fmt.Sprintf(format, bsonToText(args)...)}
}

// CodeOf returns the code in an error chain. It reports false for errors that are no ServerError and
// for failures without a code.
func CodeOf(err error) (Code, bool) {
	if err == nil {
		return 0, false
	}
	var e *ServerError
	if !errors.As(err, &e) || e.NoCode {
		return 0, false
	}
	return e.Code, true
}

// Is reports whether err carries the code.
func Is(err error, code Code) bool {
	c, ok := CodeOf(err)
	return ok && c == code
}

// HasExtra reports whether err carries a further field of the reply.
func HasExtra(err error, name string) bool {
	var e *ServerError
	return errors.As(err, &e) && slices.ContainsFunc(e.Extra, func(f bson.E) bool { return f.Key == name })
}

// Wrap prefixes the message with a context as the server does, and keeps the innermost code. A nil
// error stays nil.
func Wrap(err error, context string) error {
	if err == nil {
		return nil
	}
	var e *ServerError
	if !errors.As(err, &e) {
		return fmt.Errorf("%s :: caused by :: %w", context, err)
	}
	wrapped := *e
	wrapped.Message = context + " :: caused by :: " + err.Error()
	return &wrapped
}

// Reply returns the error document that the server would send for err: ok, errmsg, code, codeName, then
// the extra fields. Errors of other types become InternalError.
func Reply(err error) bson.D {
	var e *ServerError
	if !errors.As(err, &e) {
		e = New(InternalError, "%s", err)
	}
	reply := bson.D{{Key: "ok", Value: 0.0}, {Key: "errmsg", Value: err.Error()}}
	if !e.NoCode {
		reply = append(reply, bson.E{Key: "code", Value: int32(e.Code)}, bson.E{Key: "codeName", Value: e.CodeName()})
	}
	return append(reply, e.Extra...)
}
