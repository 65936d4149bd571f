package script

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/dop251/goja"

	"shardsh/bindings/plaintext"
	"shardsh/bindings/values"
)

// ExitError is the error of a script that ends with quit(n) or exit(n).
type ExitError struct {
	Code int // 0 to 255
}

func (e *ExitError) Error() string { return fmt.Sprintf("exit %d", e.Code) }

// ErrStopped is the cause of a script that the shell itself stopped, rather than the end of its
// context.
var ErrStopped = errors.New("script execution was stopped")

// Error is an error that no script has caught.
type Error struct {
	Name    string // the class, such as "MongoServerError" or "TypeError"
	Message string
	// CodeName and Code are those of the server; empty and 0 without them.
	CodeName string
	Code     int32

	// File, Line and Column are the position in the user's code; Line and Column count from 1. Line is
	// 0 when the position is unknown.
	File       string
	Line       int
	Column     int
	SourceLine string // the text of that line

	// Details are the lines that a REPL shows below the first: additional information, results and
	// causes (rules/04-values-and-language §3.5). Details may be empty.
	Details string
	// Stack lists the calls that led to the error, innermost first, one a line.
	Stack string

	value    goja.Value
	rendered bool // Message is a rendered value, which may contain colours
}

// Error returns "Name[CodeName]: Message" in one line.
func (e *Error) Error() string {
	return strings.ReplaceAll(e.headline(), "\n", " ")
}

func (e *Error) headline() string {
	name := plaintext.EscapeText(e.Name)
	if e.CodeName != "" {
		name += "[" + plaintext.EscapeText(e.CodeName) + "]"
	}
	return name + ": " + e.ShownMessage()
}

// ShownMessage returns the message as a REPL shows it.
func (e *Error) ShownMessage() string {
	if e.rendered {
		return e.Message
	}
	return plaintext.EscapeText(e.Message)
}

// Position returns "file:line:column", or an empty string when the position is unknown.
func (e *Error) Position() string {
	if e.Line == 0 {
		return ""
	}
	return fmt.Sprintf("%s:%d:%d", e.File, e.Line, e.Column)
}

// Text returns the error as a REPL shows it, without "Uncaught".
func (e *Error) Text() string {
	text := e.headline()
	if e.Details != "" {
		text += "\n" + e.Details
	}
	return text
}

// IsSyntax reports whether the program could not be parsed, so that it never ran.
func (e *Error) IsSyntax() bool { return e.Name == "SyntaxError" && e.value == nil }

// ErrorDescriber converts failures in a runtime to errors of this package.
type ErrorDescriber struct {
	rt      *goja.Runtime
	values  *values.Realm
	sources sources
	options *Options
	cause   error // why the engine itself has interrupted the current call
}

// describePanic describes a fault of the JavaScript engine itself, which no script can catch. The
// engine has already left its calls, so the position is that of the outermost call.
func (d *ErrorDescriber) describePanic(fault any) *Error {
	e := &Error{Name: internalErrorName, Stack: string(debug.Stack()),
		Message: fmt.Sprintf("a fault of the JavaScript engine in the call here: %v", fault)}
	d.sources.locate(e, d.rt.CaptureCallStack(10, nil))
	return e
}

// rejection is the error of an unhandled promise rejection.
type rejection struct{ value goja.Value }

func (r *rejection) Error() string { return "unhandled rejection: " + r.value.String() }

// convertError converts errors of goja and of the parser to the errors that this package documents.
func (d *ErrorDescriber) convertError(err error) error {
	var (
		interrupted *goja.InterruptedError
		overflow    *goja.StackOverflowError
		exception   *goja.Exception
		rejected    *rejection
		syntax      *goja.CompilerSyntaxError
		usage       *usageError
		transpiling *transpileError
		noFile      *fileSystemError
	)
	switch {
	case errors.As(err, &interrupted):
		return d.describeInterruption(interrupted)
	case errors.As(err, &overflow):
		e := &Error{Name: "RangeError", Message: "Maximum call stack size exceeded"}
		e.Stack = d.sources.stackText(overflow.Stack()[:min(10, len(overflow.Stack()))])
		d.sources.locate(e, overflow.Stack())
		return e
	case errors.As(err, &exception):
		e := d.DescribeThrown(exception.Value())
		e.Stack = d.sources.stackText(exception.Stack())
		d.sources.locate(e, exception.Stack())
		return e
	case errors.As(err, &rejected):
		e := d.DescribeThrown(rejected.value)
		if o, ok := rejected.value.(*goja.Object); ok && IsError(o) {
			_ = d.rt.Try(func() { _, e.Stack, _ = strings.Cut(OptionalText(o.Get("stack")), "\n") })
			d.sources.locateByStackText(e, e.Stack)
		}
		return e
	case errors.As(err, &syntax):
		pos := syntax.File.Position(syntax.Offset)
		return d.describeSyntax(syntax.Message, pos.Filename, pos.Line, pos.Column)
	case errors.As(err, &transpiling):
		e := d.describeSyntax(transpiling.message, transpiling.file, transpiling.line, transpiling.column)
		e.SourceLine = transpiling.lineText
		return e
	case errors.As(err, &noFile):
		return &Error{Name: "Error", Message: noFile.text}
	case errors.As(err, &usage):
		return &Error{Name: InvalidInputErrorName, Message: "[COMMON-10001] " + usage.message}
	}
	if first, ok := firstError(err); ok {
		return d.describeSyntax(first.Message, first.Position.Filename, first.Position.Line, first.Position.Column)
	}
	return err
}

func (d *ErrorDescriber) describeInterruption(err *goja.InterruptedError) error {
	if d.cause != nil {
		return d.cause
	}
	if e := d.sources.describeOutOfMemory(err); e != nil {
		return e
	}
	if cause := errors.Unwrap(err); cause != nil {
		return cause
	}
	return ErrStopped
}

func (d *ErrorDescriber) describeSyntax(message, file string, line, column int) *Error {
	e := &Error{Name: "SyntaxError", File: file, Line: line, Column: column}
	d.sources.fixPosition(e)
	message = clarifySyntaxMessage(message, e.SourceLine, e.Column)
	e.Message = message
	if d.options.Interactive { // other modes print the position on a separate line
		e.Message = fmt.Sprintf("%s (%d:%d)", message, e.Line, e.Column-1)
	}
	return e
}

// CallerText returns the position of a function's caller in the user's code, as the beginning of a
// message; empty when it is unknown.
func (d *ErrorDescriber) CallerText() string {
	e := &Error{}
	d.sources.locate(e, d.rt.CaptureCallStack(10, nil))
	if e.Line == 0 {
		return ""
	}
	return e.Position() + ": "
}

// DescribeThrown describes a thrown value. Values that are not errors get the shell's name for them
// (rules/04-values-and-language §3.5).
func (d *ErrorDescriber) DescribeThrown(thrown goja.Value) (e *Error) {
	if ex := d.rt.Try(func() { e = d.describe(thrown) }); ex != nil {
		e = &Error{Name: "Error", Message: "a value was thrown that cannot be inspected", value: thrown}
	}
	return e
}

func (d *ErrorDescriber) describe(thrown goja.Value) *Error {
	e := &Error{Name: "Error", value: thrown}
	obj, ok := thrown.(*goja.Object)
	if !ok {
		e.Message = d.values.InspectOutput(thrown, d.options.inspectOptions(), false)
		return e
	}
	d.newClarifier().clarify(obj)
	code, message := obj.Get("code"), obj.Get("message")
	e.CodeName = OptionalText(obj.Get("codeName"))
	if code != nil && goja.IsNumber(code) {
		e.Code = int32(code.ToInteger())
	}
	switch {
	case IsError(obj):
		e.Name, e.Message = OptionalText(obj.Get("name")), OptionalText(message)
		e.Name = cmp.Or(e.Name, "Error")
	case code != nil && obj.Get("errmsg") != nil:
		e.Name, e.Message = "MongoshInternalError", OptionalText(obj.Get("errmsg"))
	default:
		e.CodeName, e.Code = "", 0
		e.Message, e.rendered = d.values.Inspect(thrown, d.options.inspectOptions()), true
		return e
	}
	text := d.values.ErrorText(thrown, d.options.inspectOptions())
	_, e.Details, _ = strings.Cut(text, plaintext.EscapeText(e.Message)+"\n")
	return e
}

// IsError reports whether an object is an Error.
func IsError(obj *goja.Object) bool { return obj.ClassName() == "Error" }

// OptionalText converts a value to a string; empty if it is missing or null.
func OptionalText(v goja.Value) string {
	if v == nil || goja.IsUndefined(v) || goja.IsNull(v) {
		return ""
	}
	return v.String()
}

// Names of the shell's own errors, and the codes in their messages.
const (
	InvalidInputErrorName = "MongoshInvalidInputError"
	RuntimeErrorName      = "MongoshRuntimeError"
	// UnreachableStateErrorName is the name of the error that ends a wait for a state that can't be reached.
	// Its message says what has to be done.
	UnreachableStateErrorName = "StuckError"
	DeprecatedErrorName       = "MongoshDeprecatedError"
	UnimplementedErrorName    = "MongoshUnimplementedError"
	internalErrorName         = "MongoshInternalError"

	codeInvalidArgument  = "COMMON-10001"
	CodeInvalidOperation = "COMMON-10002"
	CodeDeprecated       = "COMMON-10003"
	CodeCommandFailed    = "COMMON-10004"
	CodeNotImplemented   = "COMMON-90002"
	CodeNotSharded       = "SHAPI-10001"
	CodeNoReplicaSet     = "SHAPI-10002"
	CodeNoMongos         = "SHAPI-10003"
	CodeNotConnected     = "SHAPI-10004"
	CodeNoEncryption     = "SHAPI-10005"
)

// IsUnreachableState reports whether a script ended with an error named UnreachableStateErrorName.
func IsUnreachableState(err error) bool {
	thrown, ok := errors.AsType[*Error](err)
	return ok && thrown.Name == UnreachableStateErrorName
}

// Throw ends the running Go code with a JavaScript error.
func (s *Engine) Throw(name, format string, args ...any) {
	panic(s.Values.Errors.New(name, fmt.Sprintf(format, args...)))
}

// ThrowCoded throws one of the shell's own errors, whose messages start with
// their code.
func (s *Engine) ThrowCoded(name, code, format string, args ...any) {
	e := s.Values.Errors.New(name, "["+code+"] "+fmt.Sprintf(format, args...))
	Must(e.Set("code", code))
	panic(e)
}

// ThrowInvalid throws the error for a wrong argument.
func (s *Engine) ThrowInvalid(format string, args ...any) {
	s.ThrowCoded(InvalidInputErrorName, codeInvalidArgument, format, args...)
}

// ThrowType throws a TypeError.
func (s *Engine) ThrowType(format string, args ...any) {
	panic(s.Runtime.NewTypeError(fmt.Sprintf(format, args...)))
}

// Check throws an error like Rethrow, unless it is nil.
func (s *Engine) Check(err error) {
	if err != nil {
		s.Rethrow(err)
	}
}

// Rethrow passes on an error of JavaScript that was called from Go.
func (s *Engine) Rethrow(err error) {
	var exception *goja.Exception
	var interrupted *goja.InterruptedError
	var overflow *goja.StackOverflowError
	switch {
	case errors.As(err, &interrupted):
		panic(interrupted)
	case errors.As(err, &overflow):
		panic(overflow)
	case errors.As(err, &exception):
		panic(exception)
	}
	if file, ok := errors.AsType[*fileSystemError](err); ok {
		e := s.Values.Errors.New("Error", file.text)
		for name, v := range map[string]string{"code": file.code, "syscall": file.syscall, "path": file.path} {
			if v != "" {
				Must(e.Set(name, v))
			}
		}
		panic(e)
	}
	var e *Error
	if errors.As(s.Errors.convertError(err), &e) {
		if e.IsSyntax() { // in a file that is being loaded
			at := e.File
			if !s.cfg.Interactive {
				at = e.Position()
			}
			s.Throw(e.Name, "%s: %s", at, e.Message)
		}
		s.Throw(e.Name, "%s", e.Message)
	}
	s.Throw("Error", "%s", err)
}

// Abort ends the script without running its catch and finally clauses.
func (s *Engine) Abort(cause error) {
	s.Errors.cause = cause
	panic(&goja.InterruptedError{})
}

// waitError returns the error of an interrupted wait: the cause of the script's interruption, if that
// ended the wait.
func (s *Engine) waitError(err error) error {
	if s.ctx.Err() == nil {
		return err
	}
	s.Errors.cause = context.Cause(s.ctx)
	return &goja.InterruptedError{}
}

// inspectOptions returns the options for values in messages.
func (o *Options) inspectOptions() values.InspectOptions {
	if o.Inspect == nil {
		return values.DefaultInspectOptions()
	}
	return o.Inspect()
}
