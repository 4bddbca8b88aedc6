// SPDX-License-Identifier: GPL-2.0-or-later

// collector ADDRESS FILE: the otlp receiver of the OpenTelemetry Collector. It listens at ADDRESS and
// appends what it accepts to FILE, a document in OTLP's JSON a line.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"syscall"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	out, err := os.OpenFile(os.Args[2], os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	check(err)
	write := func(_ context.Context, traces ptrace.Traces) error {
		text, err := (&ptrace.JSONMarshaler{}).MarshalTraces(traces)
		if err == nil {
			_, err = out.Write(append(text, '\n'))
		}
		return err
	}
	sink, err := consumer.NewTraces(write)
	check(err)

	factory := otlpreceiver.NewFactory()
	config := factory.CreateDefaultConfig()
	http := map[string]any{"endpoint": os.Args[1]}
	check(confmap.NewFromStringMap(map[string]any{"protocols": map[string]any{"http": http}}).Unmarshal(config))
	ctx := context.Background()
	receiver, err := factory.CreateTraces(ctx, receivertest.NewNopSettings(factory.Type()), config, sink)
	check(err)
	check(receiver.Start(ctx, componenttest.NewNopHost()))

	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	<-stop
	check(receiver.Shutdown(ctx))
}
