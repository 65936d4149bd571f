package action

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"shardsh/balancer/live"
	"shardsh/balancer/plan"
)

// isThere refuses a job about a shard or collections that the cluster does not have: it
// would be recorded, and could only fail.
func (c Cluster) isThere(ctx context.Context, o jobOptions) error {
	parts := live.Shards
	if o.Shard == "" {
		parts = live.Collections
	}
	s, err := live.NewReader(c.Client, live.ReaderOptions{Parts: parts, Required: parts}).Read(ctx)
	if err != nil {
		return &AccessError{live.ServerError(err)}
	}
	if o.Shard == "" {
		if _, err := plan.Namespaces(s, o.Namespaces); err != nil {
			return refuse("{ns}: %v", err)
		}
		return nil
	}
	if _, there := s.Shard(o.Shard); !there && !(o.Remove && WasRemoved(ctx, c.Client, o.Shard)) {
		ids := make([]string, len(s.Shards()))
		for i, shard := range s.Shards() {
			ids[i] = string(shard.ID)
		}
		return refuse("{shard}: the cluster has no shard %q; it has %s", string(o.Shard), strings.Join(ids, ", "))
	}
	return nil
}

// commandOf is the command line of a call of a job.
func (c Cluster) commandOf(o jobOptions, do string) string {
	line := o.named()
	if do == "start" {
		line = o.line()
	}
	return c.words(fmt.Sprintf("shardsh %s %s", o.Verb, do), line)
}

// words is a command line with the cluster's address, and with the user, but not the
// password: who enters it is asked for that.
func (c Cluster) words(command, more string) string {
	address := c.Address
	if address == "" || c.Settings == nil || c.Settings.Dialer != nil { // a mock in this process
		return command + " " + more
	}
	user := ""
	if c.Settings.Auth != nil && c.Settings.Auth.Username != "" {
		user = strings.ReplaceAll(url.QueryEscape(c.Settings.Auth.Username), "+", "%20") + "@"
	}
	address = strings.Replace(address, "<credentials>@", user, 1)
	return command + " " + quoted(address) + " " + more
}
