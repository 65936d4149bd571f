package action

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"shardsh/balancer/diagnosis"
	"shardsh/balancer/live"
	"shardsh/balancer/plan"
)

// checkTargetExists returns an error for a job about a shard or collections that do not exist: the job
// would be recorded and could only fail.
func (c Cluster) checkTargetExists(ctx context.Context, o jobOptions) error {
	parts := live.Shards
	if o.Shard == "" {
		parts = live.Collections
	}
	s, err := live.NewReader(c.Client, live.ReaderOptions{Parts: parts, Required: parts}).Read(ctx)
	if err != nil {
		return &NoAnswerError{live.ServerError(err)}
	}
	if o.Shard == "" {
		_, err = plan.MatchNamespaces(s, o.Namespaces)
		return err
	}
	err = diagnosis.CheckScope(s, diagnosis.Scope{Shard: o.Shard})
	if err != nil && o.Remove && WasRemoved(ctx, c.Client, o.Shard) {
		return nil
	}
	return err
}

// jobCommandLine returns the command line for a call of a job.
func (c Cluster) jobCommandLine(o jobOptions, do string) string {
	line := o.targetFlags()
	if do == "start" {
		line = o.flags()
	}
	return c.commandLine(fmt.Sprintf("shardsh %s %s", o.Verb, do), line)
}

// commandLine returns a command line with the address of the cluster and the user name, but without the
// password, for which the command prompts.
func (c Cluster) commandLine(command, more string) string {
	address := c.Address
	if address == "" || c.ClientOptions == nil || c.ClientOptions.Dialer != nil { // a mock in this process
		return command + " " + more
	}
	user := ""
	if c.ClientOptions.Auth != nil && c.ClientOptions.Auth.Username != "" {
		user = strings.ReplaceAll(url.QueryEscape(c.ClientOptions.Auth.Username), "+", "%20") + "@"
	}
	address = strings.Replace(address, "<credentials>@", user, 1)
	return command + " " + shellQuote(address) + " " + more
}
