package action

import (
	"bufio"
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"shardsh/balancer/heat"
	"shardsh/balancer/safefile"
)

const (
	// maxLoggedOps is the maximum number of operations per collection that are kept; the newest are
	// kept.
	maxLoggedOps = 50_000
	// maxLogLineBytes is the maximum length in bytes of a line in a log; longer lines are skipped.
	maxLogLineBytes = 1 << 20
)

// readLoggedOperations reads the operations of collections from log files, going back from the newest one
// of each collection by the given duration.
func readLoggedOperations(
	ctx context.Context,
	files, namespaces []string,
	back time.Duration,
) (map[string][]heat.LoggedOperation, error) {
	all := map[string][]heat.LoggedOperation{}
	for _, ns := range namespaces {
		all[ns] = nil
	}
	for _, path := range files {
		if err := readLog(ctx, path, func(one heat.LoggedOperation) {
			list, wanted := all[one.Namespace]
			if !wanted {
				return
			}
			if list = append(list, one); len(list) >= 2*maxLoggedOps {
				list = newestLogged(list, back)
			}
			all[one.Namespace] = list
		}); err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			return nil, refuse("{log}: %v", err)
		}
	}
	for ns, list := range all {
		all[ns] = newestLogged(list, back)
	}
	return all, nil
}

// newestLogged returns the newest operations, oldest first.
func newestLogged(list []heat.LoggedOperation, back time.Duration) []heat.LoggedOperation {
	if len(list) == 0 {
		return list
	}
	slices.SortStableFunc(list, func(a, b heat.LoggedOperation) int { return a.At.Compare(b.At) })
	since := list[len(list)-1].At.Add(-back)
	list = slices.DeleteFunc(list, func(l heat.LoggedOperation) bool { return l.At.Before(since) })
	return slices.Clip(list[max(0, len(list)-maxLoggedOps):])
}

func readLog(ctx context.Context, path string, take func(heat.LoggedOperation)) error {
	file, err := safefile.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewReaderSize(file, maxLogLineBytes)
	for skip := false; ctx.Err() == nil; {
		line, err := lines.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			skip = true
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return err
		}
		if !skip {
			for _, one := range heat.ParseLogLine(line) {
				take(one)
			}
		}
		if skip = false; err != nil {
			return nil
		}
	}
	return context.Cause(ctx)
}
