package commands

import (
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// hiddenSecret replaces a secret.
const hiddenSecret = "xxx"

// secretFields are the names of fields that hold a password, a key or an authentication payload. A name
// that contains one of secretWords is secret, too.
var (
	secretFields = []string{"pwd", "payload", "keyfile", "pem", "masterkey", "localkey", "sessionkey"}
	secretWords  = []string{"password", "passwd", "passphrase", "secret", "token", "credential", "apikey", "privatekey",
		"accesskey", "connectionstring"}
)

// IsSecretName reports whether a field or variable with that name holds a secret.
func IsSecretName(name string) bool {
	name = strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
	return slices.Contains(secretFields, name) ||
		slices.ContainsFunc(secretWords, func(word string) bool { return strings.Contains(name, word) })
}

// WithoutSecrets returns a redacted copy of a command or document. It replaces the strings and bytes of
// secret fields at any depth.
func WithoutSecrets(doc bson.Raw) bson.Raw {
	raw, err := bson.Marshal(redactFields(doc))
	if err != nil {
		return nil
	}
	return raw
}

func redactFields(doc bson.Raw) bson.D {
	elems, err := doc.Elements()
	if err != nil {
		return nil
	}
	shown := make(bson.D, len(elems))
	for i, e := range elems {
		shown[i] = bson.E{Key: e.Key(), Value: redactValue(e.Key(), e.Value())}
	}
	return shown
}

func redactValue(name string, v bson.RawValue) any {
	switch v.Type {
	case bson.TypeString, bson.TypeBinary, bson.TypeSymbol:
		if IsSecretName(name) {
			return hiddenSecret
		}
	case bson.TypeEmbeddedDocument:
		return redactFields(v.Document())
	case bson.TypeArray:
		values, err := v.Array().Values()
		if err != nil {
			return nil
		}
		list := make(bson.A, len(values))
		for i, inner := range values {
			list[i] = redactValue(name, inner)
		}
		return list
	}
	return v
}
