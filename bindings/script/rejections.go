package script

import (
	"slices"

	"github.com/dop251/goja"
)

// rejections are the promises that were rejected, which nobody handled yet.
type rejections []*goja.Promise

// track notes what becomes of a promise.
func (r *rejections) track(p *goja.Promise, op goja.PromiseRejectionOperation) {
	if op == goja.PromiseRejectionReject {
		*r = append(*r, p)
		return
	}
	r.forgive(p)
}

// forgive takes a promise out of those that nobody handled.
func (r *rejections) forgive(p *goja.Promise) {
	*r = slices.DeleteFunc(*r, func(q *goja.Promise) bool { return q == p })
}

// unhandled returns the first rejection, and leaves the others; nil when there is none.
func (r *rejections) unhandled() error {
	if len(*r) == 0 {
		return nil
	}
	first := (*r)[0]
	*r = (*r)[1:]
	return &rejection{first.Result()}
}

// tellRejections writes the rejections that are not the result of an input, so that none
// becomes the error of the next one. Anything but an error of the script is
// passed on. A run without a prompt ends at its first error and reports only that.
func (s *Engine) tellRejections() error {
	if !s.cfg.Interactive {
		s.rejected = nil
		return nil
	}
	var kept rejections
	for len(s.rejected) > 0 {
		if s.rejected[0] == s.awaited {
			kept, s.rejected = s.rejected[:1], s.rejected[1:]
			continue
		}
		if err := s.rejected.unhandled(); !s.tell(err) {
			return err
		}
	}
	s.rejected = kept
	return nil
}

// awaitable returns a promise of what a thenable will be; anything else is
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
