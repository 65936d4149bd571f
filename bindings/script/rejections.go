package script

import (
	"slices"

	"github.com/dop251/goja"
)

// rejections holds the rejected promises that are not handled yet.
type rejections []*goja.Promise

// track records a rejection or its handling.
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

// reportRejections prints the rejections that are not the result of an input, so that none becomes the
// error of the next input. Errors that are not errors of the script are returned. A non-interactive run
// ends at its first error and reports only that one.
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

// awaitable wraps a thenable in a promise; other values are returned unchanged.
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
	if _, err := settle(goja.Undefined(), v); err != nil { // this also runs the promise's pending jobs
		return nil, err
	}
	return rt.ToValue(promise), nil
}
