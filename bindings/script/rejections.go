package script

import (
	"slices"

	"github.com/dop251/goja"
)

// rejections are rejected promises that are not handled yet.
type rejections []*goja.Promise

// track notes what becomes of a promise.
func (r *rejections) track(p *goja.Promise, op goja.PromiseRejectionOperation) {
	if op == goja.PromiseRejectionReject {
		*r = append(*r, p)
		return
	}
	r.remove(p)
}

// remove removes a promise that was handled.
func (r *rejections) remove(p *goja.Promise) {
	*r = slices.DeleteFunc(*r, func(q *goja.Promise) bool { return q == p })
}

// popError removes and returns the first rejection; nil if there is none.
func (r *rejections) popError() error {
	if len(*r) == 0 {
		return nil
	}
	first := (*r)[0]
	*r = (*r)[1:]
	return &rejection{first.Result()}
}

// reportRejections writes the rejections that are not the result of an input, so that none
// becomes the error of the next one. Anything but an error of the script is
// passed on. A run without a prompt ends at its first error and reports only that.
func (s *Engine) reportRejections() error {
	if !s.cfg.Interactive {
		s.unhandledRejections = nil
		return nil
	}
	var kept rejections
	for len(s.unhandledRejections) > 0 {
		if s.unhandledRejections[0] == s.awaited {
			kept, s.unhandledRejections = s.unhandledRejections[:1], s.unhandledRejections[1:]
			continue
		}
		if err := s.unhandledRejections.popError(); !s.reportUncaught(err) {
			return err
		}
	}
	s.unhandledRejections = kept
	return nil
}

// awaitable wraps a thenable in a promise; anything else is returned as
// itself.
func awaitable(rt *goja.Runtime, v goja.Value) (goja.Value, error) {
	o, isObject := v.(*goja.Object)
	if _, isPromise := AsPromise(v); !isObject || isPromise {
		return v, nil
	}
	var thenable bool
	if ex := rt.Try(func() { _, thenable = goja.AssertFunction(o.Get("then")) }); ex != nil {
		return nil, ex
	}
	if !thenable {
		return v, nil
	}
	promise, resolve, _ := rt.NewPromise()
	settle, _ := goja.AssertFunction(rt.ToValue(func(call goja.FunctionCall) goja.Value {
		Must(resolve(call.Argument(0)))
		return goja.Undefined()
	}))
	if _, err := settle(goja.Undefined(), v); err != nil { // calls what the promise left to do, too
		return nil, err
	}
	return rt.ToValue(promise), nil
}
