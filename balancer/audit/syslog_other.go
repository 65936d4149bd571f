//go:build !unix

package audit

import "errors"

func openSyslog() (Sink, error) {
	return nil, errors.New("this system has no syslog: name a file, or cluster")
}
