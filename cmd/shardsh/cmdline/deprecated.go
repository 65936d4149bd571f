package cmdline

import "strings"

// renamedOption is an old name of an option, and its new name.
type renamedOption struct{ old, instead string }

// deprecatedOptions returns mongosh's old names (rules/04-command-line-and-prompt §1.4), by their
// folded form.
func deprecatedOptions() map[string]renamedOption {
	list := []renamedOption{
		{"ssl", "tls"},
		{"sslAllowInvalidCertificates", "tlsAllowInvalidCertificates"},
		{"sslAllowInvalidHostnames", "tlsAllowInvalidHostnames"},
		{"sslCAFile", "tlsCAFile"},
		{"sslCRLFile", "tlsCRLFile"},
		{"sslCertificateSelector", "tlsCertificateSelector"},
		{"sslDisabledProtocols", "tlsDisabledProtocols"},
		{"sslPEMKeyFile", "tlsCertificateKeyFile"},
		{"sslPEMKeyPassword", "tlsCertificateKeyFilePassword"},
	}
	byFold := make(map[string]renamedOption, len(list))
	for _, r := range list {
		byFold[Fold(r.old)] = r
	}
	return byFold
}

// deprecatedOption returns the old name of an option in its correct spelling.
func deprecatedOption(word string) (old string, ok bool) {
	r, ok := deprecatedOptions()[Fold(strings.TrimPrefix(word, "--"))]
	return r.old, ok
}

// unsupportedOptions returns the options of mongosh that shardsh does not support, with the
// alternative, by their folded form.
func unsupportedOptions() map[string]string {
	reasons := []struct {
		why   string
		names string
	}{
		{"Go's FIPS 140-3 mode is switched on in the environment, with GODEBUG=fips140=on",
			"tlsFIPSMode sslFIPSMode"},
		{"certificates of the system's store can't be used; give a PEM file with --tlsCertificateKeyFile",
			"tlsCertificateSelector sslCertificateSelector"},
		{"field level encryption is not built in; use mongosh for encrypted fields",
			"awsAccessKeyId awsSecretAccessKey awsSessionToken keyVaultNamespace kmsURL csfleLibraryPath cryptSharedLibPath"},
		{"Kerberos is not supported, as it needs a C library; --authenticationMechanism names what is",
			"gssapiServiceName gssapiHostName sspiHostnameCanonicalization sspiRealmOverride"},
		{"there is no login with a browser; a machine's identity works in the connection string: " +
			"authMechanism=MONGODB-OIDC&authMechanismProperties=ENVIRONMENT:...",
			"oidcFlows oidcRedirectUri oidcTrustedEndpoint oidcIdTokenAsAccessToken oidcDumpTokens oidcNoNonce browser"},
	}
	byFold := make(map[string]string)
	for _, r := range reasons {
		for name := range strings.FieldsSeq(r.names) {
			byFold[Fold(name)] = r.why
		}
	}
	return byFold
}
