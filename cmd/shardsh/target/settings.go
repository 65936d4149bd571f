package target

import (
	"context"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"

	"shardsh/cmd/shardsh/cmdline"
)

// Settings returns the options for the driver.
func (d Dialer) Settings(ctx context.Context, s ConnectionFlags,
	c *ConnectionString) (*options.ClientOptions, error) {
	checks, err := takeTLSChecks(c)
	if err != nil {
		return nil, err
	}
	if unknown := unknownParameterText(c); unknown != "" {
		return nil, cmdline.Usagef("the connection string has an option that is not supported: %s", unknown)
	}
	keyFile, hasKey := c.get("tlsCertificateKeyFile")
	_, hasPassword := c.get("tlsCertificateKeyFilePassword")
	switch {
	case s.tls.keyPassword.Given && !hasKey:
		return nil, cmdline.Usagef("--tlsCertificateKeyFilePassword needs --tlsCertificateKeyFile")
	case hasKey && !hasPassword:
		password, err := d.keyPassword(ctx, s, keyFile)
		if err != nil {
			return nil, err
		}
		if password != "" {
			c.set("tlsCertificateKeyFilePassword", password)
		}
	}
	settings := options.Client().ApplyURI(c.String())
	if err := settings.Validate(); err != nil {
		return nil, connectError(c, err)
	}
	if err := d.addAWSToken(ctx, s, settings.Auth); err != nil {
		return nil, err
	}
	if err := s.tls.configure(settings.TLSConfig, checks); err != nil {
		return nil, err
	}
	if s.APIVersion != "" {
		settings.SetServerAPIOptions(options.ServerAPI(options.ServerAPIVersion(s.APIVersion)).
			SetStrict(s.apiStrict).SetDeprecationErrors(s.apiDeprecationErrors))
	}
	if settings.AppName == nil {
		settings.SetAppName(d.AppName)
	}
	settings.SetServerMonitoringMode(monitoringMode(c))
	if d.Monitor != nil {
		settings.SetMonitor(d.Monitor)
	}
	return settings, nil
}

// addAWSToken adds the session token of a temporary AWS key to the credentials.
func (d Dialer) addAWSToken(ctx context.Context, s ConnectionFlags, login *options.Credential) (err error) {
	token := s.awsToken.Value
	switch {
	case !s.awsToken.Given:
		return nil
	case login == nil || login.AuthMechanism != "MONGODB-AWS":
		return cmdline.Usagef("--awsIamSessionToken needs --authenticationMechanism MONGODB-AWS")
	case login.Username == "":
		return cmdline.Usagef("--awsIamSessionToken needs --username and --password, the key that it belongs to")
	case token == "":
		if token, err = d.Ask(ctx, "Enter session token: ", "--awsIamSessionToken TOKEN"); err != nil {
			return err
		}
	}
	if login.AuthMechanismProperties == nil {
		login.AuthMechanismProperties = map[string]string{}
	}
	login.AuthMechanismProperties["AWS_SESSION_TOKEN"] = token
	return nil
}

// monitoringMode returns the server monitoring mode: that of the connection string, which the driver
// itself does not copy, or polling. A shell does not need immediate news about the topology. The
// streaming monitor costs a second connection and, occasionally, ten seconds at the end, when the
// driver waits for a hello that it does not cancel.
func monitoringMode(c *ConnectionString) string {
	if mode, ok := c.get("serverMonitoringMode"); ok {
		return mode
	}
	return connstring.ServerMonitoringModePoll
}

// ignoredParameters are parameters of connection strings that the driver does not support, and that can
// be ignored without harm.
var ignoredParameters = []string{"waitqueuetimeoutms", "waitqueuemultiple", "waitqueuesize", "wtimeout", "wtimeoutms"}

// unknownParameters returns the parameters that the driver does not know, in lower case.
func unknownParameters(c *ConnectionString) []string {
	plain := *c
	plain.scheme = scheme // avoids DNS queries
	parsed, err := connstring.Parse(plain.String())
	if err != nil {
		return nil // the driver will report it
	}
	var names []string
	for name := range parsed.UnknownOptions {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// IgnoredParameters returns the parameters of a connection string that have no effect.
func IgnoredParameters(c *ConnectionString) []string {
	return slices.DeleteFunc(unknownParameters(c), func(n string) bool { return !slices.Contains(ignoredParameters, n) })
}

func unknownParameterText(c *ConnectionString) string {
	return strings.Join(slices.DeleteFunc(unknownParameters(c), func(n string) bool {
		return slices.Contains(ignoredParameters, n)
	}), ", ")
}
