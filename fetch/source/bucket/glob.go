package bucket

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"faultline/fetch/source"
	"faultline/fetch/source/internal/tree"
)

// maxKeys are looked at for one pattern.
const maxKeys = 500_000

// Glob implements source.Source.
func (f *Files) Glob(ctx context.Context, pattern string) ([]source.File, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := cmp.Or(tree.CheckPattern(pattern), f.check(pattern)); source.KindOf(err) == source.BadName {
		return nil, &source.Error{Kind: source.BadName, Place: f.place, Name: pattern, Err: err}
	}
	s := &search{Files: f, ctx: ctx, pattern: pattern}
	s.below("", strings.Split(pattern, "/"))
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	slices.SortFunc(s.found, func(a, b source.File) int { return strings.Compare(a.Name, b.Name) })
	return s.found, errors.Join(s.errs...)
}

type search struct {
	*Files
	ctx     context.Context
	pattern string
	found   []source.File
	errs    []error
	looked  int
}

// below looks for the rest of a pattern in a folder, which is "" or ends with a slash.
func (s *search) below(folder string, rest []string) {
	for len(rest) > 0 && !strings.ContainsAny(rest[0], `*?[\`) {
		folder, rest = folder+rest[0]+"/", rest[1:]
	}
	if len(rest) == 0 {
		what, err := s.Stat(s.ctx, strings.TrimSuffix(folder, "/"))
		if err == nil {
			s.found = append(s.found, what)
		} else if source.KindOf(err) != source.NotFound {
			s.errs = append(s.errs, err)
		}
		return
	}
	if !s.inside(strings.TrimSuffix(folder, "/")) {
		s.errs = append(s.errs, &source.Error{Kind: source.Outside, Place: s.place, Name: s.pattern})
		return
	}
	last := len(rest) == 1
	deep := last && rest[0] == "**"
	start, _, _ := strings.Cut(strings.NewReplacer("?", "*", "[", "*", `\`, "*").Replace(rest[0]), "*")
	in := &s3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: aws.String(folder + start)}
	if !deep {
		in.Delimiter = aws.String("/")
	}
	var folders []string
	for pages := s3.NewListObjectsV2Paginator(s.client, in); pages.HasMorePages(); {
		page, err := pages.NextPage(s.ctx)
		if err != nil {
			s.errs = append(s.errs, s.fault(s.ctx, s.pattern, err))
			return
		}
		if s.looked += len(page.Contents) + len(page.CommonPrefixes); s.looked > maxKeys {
			s.errs = append(s.errs, &source.Error{Kind: source.TooMuch, Place: s.place, Name: s.pattern, More: fmt.Sprintf("more than %d keys to look at", maxKeys)})
			return
		}
		for _, o := range page.Contents {
			key := aws.ToString(o.Key)
			ok, _ := path.Match(rest[0], strings.TrimPrefix(key, folder))
			if (deep || last && ok) && s.check(key) == nil { // folders that consoles make end with a slash
				s.found = append(s.found, file(key, aws.ToInt64(o.Size), o.ETag, o.LastModified))
			}
		}
		for _, p := range page.CommonPrefixes {
			name := strings.TrimSuffix(strings.TrimPrefix(aws.ToString(p.Prefix), folder), "/")
			if ok, _ := path.Match(rest[0], name); ok && !last {
				folders = append(folders, folder+name+"/")
			}
		}
	}
	for _, sub := range folders {
		s.below(sub, rest[1:])
	}
}

// file describes an object. Its ETag stands for its content; where a server has none, nothing does.
func file(key string, size int64, etag *string, written *time.Time) source.File {
	mark := strings.Trim(aws.ToString(etag), `"`)
	return source.File{Name: key, Size: size, Written: aws.ToTime(written).Truncate(time.Second), Mark: mark, Whole: mark != ""}
}
