/** Steps of the demo workflow, with their titles in the timeline. */
export function demoSteps(nodeId: string, folder: string, pageUrl: string) {
  const skill = (title: string, skillId: string, input: Record<string, unknown> = {}) => ({
    title,
    step: { type: 'skill' as const, name: title, skillId, input: { nodeId, ...input } },
  });
  return [
    skill('Ping the machine', 'node.ping'),
    skill('Capture its screen', 'node.capture_screen'),
    skill('List a shared folder', 'node.files_list', { path: folder }),
    skill('Open a page in its browser', 'browser.navigate', { url: pageUrl }),
    skill('Click a button', 'browser.click', { target: { role: 'button', name: 'Raise the signal' } }),
    skill('Read the page', 'browser.content'),
    skill('Take a picture of the page', 'browser.screenshot'),
    {
      title: 'Ask a person',
      step: {
        type: 'approval' as const,
        title: 'May the demo continue and ask to run a command?',
        message: 'The next step asks to run uname -a.',
      },
    },
    skill('Run uname -a, once approved', 'system.run', { argv: ['uname', '-a'] }),
  ];
}
