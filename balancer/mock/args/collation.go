package args

import (
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mongoerr"
)

// CollationFields returns the fields of a collation as servers declare them.
func CollationFields() []Field {
	return []Field{
		Required("locale", String), Optional("caseLevel", SafeBool),
		Optional("caseFirst", String).OneOf("upper", "lower", "off"),
		Optional("strength", SafeInt).AtLeast(0), Optional("numericOrdering", SafeBool),
		Optional("alternate", String).OneOf("non-ignorable", "shifted"),
		Optional("maxVariable", String).OneOf("punct", "space"), Optional("normalization", SafeBool),
		Optional("backwards", SafeBool), Optional("version", String),
	}
}

// locales are the languages for which servers have collations (MongoDB manual).
var locales = " simple af sq am ar hy as az bn be bs my bg ca chr zh hr cs da nl dz en eo et ee fo fil fi fr gl ka " +
	"de el gu ha haw he hi hu is ig smn id ga it ja kl kn kk km kok ko ky lkt lo lv ln lt dsb lb mk ms ml mt mr mn ne " +
	"se nb nn or om ps fa pl pt pa ro ru sr si sk sl es sw sv ta te th bo to tr uk hsb ur ug vi wae cy yi yo zu "

// simpleLocale is the name of the collation that compares bytes.
const simpleLocale = "simple"

// ReadCollation checks a collation and returns it. It returns nil for the simple collation, which is
// also the default for a missing or empty document. place is the prefix of field names in error
// messages.
func ReadCollation(place string, doc bson.Raw) (bson.Raw, error) {
	if len(doc) <= emptyDocumentBytes {
		return nil, nil
	}
	return RequireCollation(place, doc)
}

// RequireCollation is like ReadCollation, but fails for an empty document because it has no locale.
func RequireCollation(place string, doc bson.Raw) (bson.Raw, error) {
	if err := Check(place, CollationFields(), doc); err != nil {
		return nil, err
	}
	if err := checkLocale(doc); err != nil || Text(doc.Lookup("locale")) == simpleLocale {
		return nil, err
	}
	return doc, nil
}

// checkLocale rejects unknown languages, and options of the simple collation.
func checkLocale(collation bson.Raw) error {
	locale := Text(collation.Lookup("locale"))
	language, _, _ := strings.Cut(locale, "_")
	language, _, _ = strings.Cut(language, "@")
	switch {
	case locale == "":
		return mongoerr.New(mongoerr.BadValue, "Field 'locale' cannot be the empty string in: %s", collation)
	case strings.ContainsRune(language, ' ') || !strings.Contains(locales, " "+language+" "):
		return mongoerr.New(mongoerr.BadValue, "Field 'locale' is invalid in: %s", collation)
	case locale == simpleLocale && ElementCount(bson.RawArray(collation)) > 1:
		return mongoerr.New(mongoerr.FailedToParse, "If locale=simple, no other fields should be present in: %s", collation)
	}
	return nil
}

// emptyDocumentBytes is the length of a document without fields.
const emptyDocumentBytes = 5
