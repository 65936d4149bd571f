package commands_test

import (
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/commands"
)

func TestWithoutSecrets(t *testing.T) {
	const secret = "hunter2"
	for _, text := range []string{
		`{"createUser": "ada", "pwd": "hunter2", "roles": []}`,
		`{"insert": "users", "documents": [{"a": {"password": "hunter2"}}]}`,
		`{"update": "u", "updates": [{"q": {}, "u": [{"$set": {"deep": {"apiToken": "hunter2", "PassPhrase": "hunter2"}}}]}]}`,
		`{"saslContinue": 1, "payload": "hunter2"}`,
		`{"hello": 1, "speculativeAuthenticate": {"saslStart": 1, "payload": "hunter2"}}`,
		`{"a": {"client_secret": ["hunter2", {"x": {"keyFile": "hunter2"}}]}}`,
		`{"bulkWrite": 1, "ops": [{"insert": 0, "document": {"secretKey": "hunter2"}}]}`,
	} {
		var doc bson.D
		if err := bson.UnmarshalExtJSON([]byte(text), false, &doc); err != nil {
			t.Fatal(err)
		}
		raw, err := bson.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		shown := commands.WithoutSecrets(raw).String()
		if strings.Contains(shown, secret) || !strings.Contains(shown, "xxx") {
			t.Errorf("%s is shown as %s", text, shown)
		}
	}
	plain, err := bson.Marshal(bson.D{{Key: "find", Value: "c"}, {Key: "filter", Value: bson.D{{Key: "a", Value: "b"},
		{Key: "digestPassword", Value: true}, {Key: "tokens", Value: int32(3)}}}})
	if err != nil {
		t.Fatal(err)
	}
	if shown := commands.WithoutSecrets(plain); string(shown) != string(plain) {
		t.Errorf("%s became %s", bson.Raw(plain), shown)
	}
}
