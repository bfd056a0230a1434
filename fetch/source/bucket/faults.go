package bucket

import (
	"context"
	"errors"
	"net"
	"strings"

	"faultline/fetch/source"
)

// codes are what servers call what is wrong.
var codes = map[string]source.Kind{
	"NoSuchKey":             source.NotFound,
	"NotFound":              source.NotFound,
	"NoSuchBucket":          source.NoBucket,
	"AccessDenied":          source.Denied,
	"AllAccessDisabled":     source.Denied,
	"AccountProblem":        source.Denied,
	"Forbidden":             source.Denied,
	"InvalidObjectState":    source.Denied,
	"InvalidAccessKeyId":    source.Credentials,
	"SignatureDoesNotMatch": source.Credentials,
	"InvalidToken":          source.Credentials,
	"XAdminUserNotFound":    source.Credentials, // versitygw, with 404
	"RequestTimeTooSkewed":  source.Credentials,
	"ExpiredToken":          source.Expired,
	"TokenRefreshRequired":  source.Expired,
	"RequestExpired":        source.Expired,
	"SlowDown":              source.Busy,
	"ServiceUnavailable":    source.Busy,
	"TooManyRequests":       source.Busy,
	"InternalError":         source.Busy,
	"RequestTimeout":        source.TimedOut,
	"PreconditionFailed":    source.Changed,
}

// code is what the server calls an error, "" where it is not the server's.
func code(err error) string {
	var api interface{ ErrorCode() string }
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

// fault says in the words of sources what the server, or the way there, says.
func (f *Files) fault(ctx context.Context, key string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var known *source.Error
	if errors.As(err, &known) {
		return known
	}
	e := &source.Error{Kind: source.Failed, Place: f.place, Name: key, Err: err}
	var answer interface{ HTTPStatusCode() int }
	var dial *net.OpError
	var dns *net.DNSError
	var network net.Error
	kind, told := codes[code(err)]
	switch {
	case told:
		e.Kind = kind
		if kind == source.Credentials {
			e.More = code(err)
		}
	case errors.As(err, &answer) && answer.HTTPStatusCode() >= 500, errors.As(err, &answer) && answer.HTTPStatusCode() == 429:
		e.Kind = source.Busy
	case errors.As(err, &answer) && answer.HTTPStatusCode() == 403:
		e.Kind = source.Denied
	case errors.As(err, &answer) && answer.HTTPStatusCode() >= 300:
		e.More = "the server says " + code(err)
	case strings.Contains(err.Error(), "get identity"), strings.Contains(err.Error(), "get credentials"):
		e.Kind, e.More = source.Credentials, "there are none that are valid: the AWS profile, role or environment gives none"
	case errors.As(err, &network) && network.Timeout():
		e.Kind = source.TimedOut
	case errors.As(err, &dns):
		e.Kind, e.More = source.Unreachable, "no host of that name is known here"
	case errors.As(err, &dial) && dial.Op == "dial":
		e.Kind = source.Unreachable
	default:
		e.Kind = source.Lost
	}
	return e
}
