/** The texts of the page. */
export const english = {
  title: 'Notifications',
  user: 'Signed in as {email}',
  text: 'This browser can tell you when an approval waits for your decision, also while no page of the hub is open.',
  privacy:
    'The notification contains the title of the approval and the name of its workflow. The push service of your browser’s maker delivers it encrypted: the service learns the address of this browser and the time, not the content.',
  session: 'Notifications end when you sign out or your sign-in expires. Turn them on again after you sign in.',
  loading: 'Loading…',
  on: 'Notifications are on in this browser.',
  off: 'Notifications are off in this browser.',
  denied: 'Your browser blocks notifications of this hub.',
  deniedText:
    'Open the settings of this site in your browser, beside the address, and allow notifications. Then check again.',
  unsupported: 'This browser cannot receive notifications.',
  unsupportedText:
    'The page must be opened by https. Use a current version of Chrome, Edge, Firefox or Safari, and no private window.',
  noService: 'The push service of your browser is not reachable.',
  noServiceText: 'Check your connection, and whether a firewall or a setting of the browser blocks the service.',
  noHub: 'The hub is not reachable.',
  noHubText: 'Check your connection, then try again.',
  turnOn: 'Turn on notifications',
  turnOff: 'Turn off notifications',
  retry: 'Try again',
  back: 'Back to your profile',
};
export type Words = typeof english;
