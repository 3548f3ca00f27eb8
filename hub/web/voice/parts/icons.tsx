/** Decorative icons next to texts or labels. */
const Icon = ({ path }: { path: string }) => (
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
    <path d={path} />
  </svg>
);

export const MicrophoneIcon = () => (
  <Icon path="M12 3a3 3 0 0 0-3 3v6a3 3 0 0 0 6 0V6a3 3 0 0 0-3-3ZM5.5 11.5a6.5 6.5 0 0 0 13 0M12 18v3M8.5 21h7" />
);
export const StopIcon = () => <Icon path="M7 7h10v10H7z" />;
export const SendIcon = () => <Icon path="M4.5 12h9M4 4.5l16.5 7.5L4 19.5l2-7.5z" />;
