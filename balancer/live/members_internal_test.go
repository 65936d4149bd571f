package live

import (
	"context"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// The answers of members are not kept if the read was cancelled, as the next reads would show its errors.
func TestCancelledReadKeepsNoMembers(t *testing.T) {
	for _, cancelled := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if cancelled {
			cancel()
		}
		r := &reading{Reader: &Reader{source: noAnswers{}}}
		r.options.MemberClientOptions = options.Client()
		r.parts.Shards = []catalog.ShardState{{Shard: catalog.Shard{ID: "a", Host: "rs/127.0.0.1:1"}}}
		if err := r.startReadingVersions(ctx); err != nil {
			t.Fatal(err)
		}
		members := r.awaitMembers()
		if len(members) != 1 || members[0].Problem == "" || (r.memberCache.Load() == nil) != cancelled {
			t.Errorf("cancelled %t: members %+v, cached %+v", cancelled, members, r.memberCache.Load())
		}
	}
}

// noAnswers is a source without answers.
type noAnswers struct{ source }

func (noAnswers) run(_ context.Context, _ string, _ bson.D) (bson.Raw, error) {
	return nil, context.Canceled
}

// oldMember is a member of a shard before 4.4.2, which doesn't know hello.
type oldMember struct{ CommandRunner }

func (oldMember) RunCommand(_ context.Context, _ string, command bson.D) (bson.Raw, error) {
	if command[0].Key != "isMaster" {
		return nil, mongoerr.New(mongoerr.CommandNotFound, "no such command: hello")
	}
	return bson.Marshal(bson.D{{Key: "ismaster", Value: true}})
}

func TestHelloOfOldMembers(t *testing.T) {
	hello, err := helloMember(t.Context(), oldMember{})
	if err != nil || !catalog.IsTruthyInJS(hello.Lookup("ismaster")) {
		t.Error(hello, err)
	}
}
