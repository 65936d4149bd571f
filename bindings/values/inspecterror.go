package values

import (
	"strings"

	"github.com/dop251/goja"

	"shardsh/bindings/plaintext"
)

// errorLine formats an error inside a value: [Name: message].
func (in *inspector) errorLine(o *goja.Object) string {
	return plaintext.EscapeText("[" + in.errorHead(o) + "]")
}

// errorHead returns "Name: message", or the name alone.
func (in *inspector) errorHead(o *goja.Object) string {
	name, message := textOf(o.Get("name"), "Error"), textOf(o.Get("message"), "")
	if message == "" {
		return name
	}
	return name + ": " + message
}

func textOf(v goja.Value, missing string) string {
	if isMissing(v) {
		return missing
	}
	return v.String()
}

// errorStack returns the head of an error and its stack.
func (in *inspector) errorStack(o *goja.Object) string {
	frames := stackFrames(o)
	if frames == "" {
		return in.errorLine(o)
	}
	return strings.ReplaceAll(plaintext.EscapeText(in.errorHead(o)+frames), "\n", "\n"+strings.Repeat(" ", in.indent))
}

// stackFrames returns where an error was made, a line for each frame; empty if it is not known.
func stackFrames(o *goja.Object) string {
	_, frames, found := strings.Cut(textOf(o.Get("stack"), ""), "\n\tat ")
	if !found {
		return ""
	}
	return "\n    at " + strings.ReplaceAll(strings.TrimRight(frames, "\n"), "\n\tat ", "\n    at ")
}

// ErrorText formats an error as the shell reports it (rules/04-values-and-language §3.5), without
// "Uncaught": the name, the code's name in brackets, the message, then the server's additional fields
// and the cause. A thrown value that is not an Error is formatted as an error.
func (w *Realm) ErrorText(v goja.Value, o InspectOptions) string {
	var text string
	if ex := w.rt.Try(func() { text = errorText(w, v, o, 0) }); ex != nil {
		return "Error: " + plaintext.EscapeText(ex.Error())
	}
	return text
}

// maxCauses limits a chain of causes, which may be circular.
const maxCauses = 20

func errorText(w *Realm, v goja.Value, o InspectOptions, causes int) string {
	in := newInspector(w, o)
	e, ok := v.(*goja.Object)
	if !ok && causes > 0 {
		return w.Inspect(v, o)
	}
	if !ok {
		return in.paint(styleErrorName, "Error") + ": " + thrownText(w, v, o)
	}
	message := e.Get("message")
	name := textOf(e.Get("name"), "Error")
	if e.ClassName() != "Error" {
		if !isString(e.Get("errmsg")) || isMissing(e.Get("code")) {
			if !isString(message) || !isString(e.Get("name")) {
				return in.paint(styleErrorName, "Error") + ": " + w.Inspect(v, o)
			}
		} else {
			name, message = "MongoshInternalError", e.Get("errmsg")
		}
	}
	var b strings.Builder
	b.WriteString(in.paint(styleErrorName, name))
	if code := e.Get("codeName"); !isMissing(code) && code.String() != "" {
		b.WriteString("[" + plaintext.EscapeText(code.String()) + "]")
	}
	if m := textOf(message, ""); m != "" {
		b.WriteString(": " + plaintext.EscapeText(m))
	}
	if o.ErrorStacks {
		b.WriteString(plaintext.EscapeText(stackFrames(e)))
	}
	for _, part := range [...]struct{ label, field string }{
		{"Additional information", "errInfo"}, {"Result", "result"}, {"Write Errors", "writeErrors"},
		{"Violations", "violations"},
	} {
		if detail := e.Get(part.field); !isMissing(detail) {
			b.WriteString("\n" + in.paint(styleLabel, part.label+": ") + w.Inspect(detail, o))
		}
	}
	if cause := e.Get("cause"); !isMissing(cause) && causes < maxCauses {
		b.WriteString("\n" + in.paint(styleLabel, "Caused by: ") + "\n" + errorText(w, cause, o, causes+1))
	}
	return b.String()
}

// thrownText formats a thrown primitive, including undefined.
func thrownText(w *Realm, v goja.Value, o InspectOptions) string {
	if v == nil || goja.IsUndefined(v) {
		return "undefined"
	}
	return w.InspectOutput(v, o, false)
}
