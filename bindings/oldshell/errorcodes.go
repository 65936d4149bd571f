package oldshell

import (
	"strconv"

	"github.com/dop251/goja"

	"shardsh/balancer/mongoerr"
	"shardsh/bindings/script"
)

// oldCodeNames maps former names of error codes to codes, for old scripts.
func oldCodeNames() map[string]mongoerr.Code {
	return map[string]mongoerr.Code{
		"NotMaster": mongoerr.NotWritablePrimary, "NotMasterNoSlaveOk": 13435, "NotMasterOrSecondary": 13436,
		"InterruptedDueToStepDown": 11602, "WriteConcernTimeout": mongoerr.WriteConcernFailed, "DatabaseNotFound": 60,
	}
}

// newErrorCodes returns ErrorCodes: a map from error names to numbers, with a predicate for each
// category, such as isRetriableError.
func (h Host) newErrorCodes() goja.Value {
	o := h.JS.Runtime.NewObject()
	for _, code := range mongoerr.Codes() {
		script.Must(o.Set(code.Name(), int64(code)))
	}
	for name, code := range oldCodeNames() {
		script.Define(o, name, h.JS.Runtime.ToValue(int64(code)))
	}
	for _, category := range append(mongoerr.Categories(), "NotMasterError") {
		of := category
		if category == "NotMasterError" {
			of = "NotPrimaryError"
		}
		name := "is" + category
		script.Define(o, name, h.JS.NewFunction(name, func(c *script.Call) goja.Value {
			return c.JS.Runtime.ToValue(errorCode(c, 0).InCategory(of))
		}))
	}
	return o
}

// errorCode returns the code in an argument: a number, a name, or an error with a code; 0 for none.
func errorCode(c *script.Call, i int) mongoerr.Code {
	v := c.Arg(i)
	if e := c.Object(i); e != nil {
		v = script.OrUndefined(script.Property(e, "code"))
	}
	switch {
	case goja.IsNumber(v):
		return mongoerr.Code(v.ToInteger())
	case goja.IsString(v):
		if code, ok := oldCodeNames()[v.String()]; ok {
			return code
		}
		code, _ := mongoerr.CodeByName(v.String())
		return code
	}
	return 0
}

// newErrorCodeStrings returns the inverse map of ErrorCodes.
func (h Host) newErrorCodeStrings() goja.Value {
	o := h.JS.Runtime.NewObject()
	for _, code := range mongoerr.Codes() {
		script.Must(o.Set(strconv.Itoa(int(code)), code.Name()))
	}
	return o
}
