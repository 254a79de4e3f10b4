// Loaded into the service: it writes where its memory is, when it gets SIGUSR2.

process.on('SIGUSR2', () => {
  const { rss, heapTotal, heapUsed, external } = process.memoryUsage();
  process.stderr.write(`memory ${JSON.stringify({ rss, heapTotal, heapUsed, external })}\n`);
});
