package store

import "shardsh/balancer/mongoerr"

// codeOf is the code of an error, 0 for none, -1 for one without a code.
func codeOf(err error) int32 {
	if err == nil {
		return 0
	}
	code, ok := mongoerr.CodeOf(err)
	if !ok {
		return -1
	}
	return int32(code)
}
