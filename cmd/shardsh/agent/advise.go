package agent

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/keyadvice"
	"shardsh/balancer/live/keyfacts"
	"shardsh/bindings/findings"
)

type adviseArguments struct {
	NS   string   `json:"ns" jsonschema:"the collection, DB.COLLECTION"`
	Keys []string `json:"keys,omitempty" jsonschema:"shard keys to judge, extended JSON; without them some are proposed"`
}

func (s *Server) addAdvise() {
	add(s,
		tool{name: "advise", description: "Which shard key suits a collection, and why, from its indexes and a sample. " +
			"Returns counts and shares, and no documents."},
		adviseTool)
}

func adviseTool(ctx context.Context, c *call, in adviseArguments) (Answer, error) {
	if _, _, err := catalog.SplitNamespace(in.NS); err != nil {
		return Answer{}, fmt.Errorf("ns takes DB.COLLECTION, not %.80q", in.NS)
	}
	source, err := c.Open(ctx)
	if err != nil {
		return Answer{}, err
	}
	if source.Client == nil {
		return Answer{}, errors.New("a file has no documents to sample")
	}
	// analyzeShardKey stores split points on the servers for some time, so it is not used.
	o := keyfacts.Options{NoAnalyzeReason: "agents only read", OnRead: c.progress}
	for _, text := range in.Keys {
		var doc bson.Raw
		if err := bson.UnmarshalExtJSON([]byte(text), false, &doc); err != nil {
			return Answer{}, fmt.Errorf("keys: %.80q is not valid extended JSON: %w", text, err)
		}
		key, err := keyadvice.ParseShardKey(doc)
		if err != nil {
			return Answer{}, fmt.Errorf("keys: %w", err)
		}
		o.Keys = append(o.Keys, key)
	}
	advice, err := keyfacts.Advise(ctx, source.Client, in.NS, o)
	if err != nil {
		return Answer{}, err
	}
	return Answer{
		Answer:    findings.KeyAdviceText(advice),
		Sources:   []string{"a sample of documents, the indexes and statistics of " + in.NS, "docs/advise.md"},
		NextSteps: []string{"a person decides; shardsh advise has more options, such as queries"},
	}, nil
}
