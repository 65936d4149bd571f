package store

import "shardsh/balancer/mongoerr"

// The makers of errors show values in their messages as the server does.

func serverError(code mongoerr.Code, format string, args ...any) error {
	return mongoerr.New(code, format, readable(args)...)
}

// fail makes an error of a code that has no name.
func fail(code int32, format string, args ...any) error {
	return serverError(mongoerr.Code(code), format, args...)
}

func badValue(format string, args ...any) error {
	return serverError(mongoerr.BadValue, format, args...)
}

func failedToParse(format string, args ...any) error {
	return serverError(mongoerr.FailedToParse, format, args...)
}

func typeMismatch(format string, args ...any) error {
	return serverError(mongoerr.TypeMismatch, format, args...)
}
