// Package ais holds the bot against a real AIStore: clusters of a proxy and three targets, with AuthN on, that are broken as
// users' clusters break while a job reads its batches from them. prepare.sh builds AIStore's daemon, of an exact version
// from a module of its own (cluster/), into the cache; the test behind the build tag "realais" runs in network, mount and
// process namespaces of its own, so that whatever it starts ends with it:
//
//	integration/ais/prepare.sh && go test -tags realais -v ./integration/ais
//
// It needs root, for the namespaces and for the small disk that fills up. The ranks of the job are part of the test: they
// ask the real cluster over its REST interface, and write what a training job with Lhotse and AIStore's Python SDK prints,
// with the cluster's own messages and the true times.
package ais
